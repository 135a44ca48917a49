//! The real program in a pseudo-terminal.
