//! Collective algorithms as data: plans, their generators and their checker
