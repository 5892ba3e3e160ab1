//! What people are shown of a configuration.
