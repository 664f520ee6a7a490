//! Collective communication: communicators, operators, and the engine that runs plans
