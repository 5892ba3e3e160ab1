//! Properties
