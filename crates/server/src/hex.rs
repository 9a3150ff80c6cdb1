//! Bytes as hexadecimal digits: ids that nobody can guess, and digests.

/// Two digits a byte, in lower case.
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

/// So many random bytes.
pub(crate) fn random<const N: usize>() -> String {
    let mut bytes = [0; N];
    // Start-up has shown that the system gives random numbers. Were it to stop, an id that can be guessed would be
    // worse than a call that ends here.
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
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
