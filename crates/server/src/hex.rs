//! Hexadecimal digits: unguessable ids, and digests.

/// Writes two lower-case digits per byte.
pub(crate) fn of(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        hex.push(DIGITS[usize::from(byte >> 4)]);
        hex.push(DIGITS[usize::from(byte & 15)]);
    }
    hex
}

/// `N` random bytes.
pub(crate) fn random<const N: usize>() -> String {
    let mut bytes = [0; N];
    // Start-up has verified that random numbers are available. If they stopped, a guessable id would be worse than a
    // call that panics here.
    getrandom::fill(&mut bytes).expect("the system provides random numbers");
    of(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        for (bytes, want) in [(&[][..], ""), (&[0, 9, 10, 255, 0x5e], "00090aff5e")] {
            assert_eq!(of(bytes), want);
        }
        assert_ne!(random::<16>(), random::<16>());
    }
}
