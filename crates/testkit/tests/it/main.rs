//! The fixture binary through real pipes and sockets.

#[cfg(test)]
mod matrix;
