//! Rendezvous and links between the ranks of a communicator
