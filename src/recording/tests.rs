//! What a recording keeps and what a reader makes of damage.
