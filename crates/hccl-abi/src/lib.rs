//! What the C interfaces share: handle tables and the border that no panic crosses
