//! Unit vectors with one byte per dimension.

/// A direction as numbers from -127 to 127, with the scale to length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    codes: Box<[i8]>,
    scale: f32,
}

impl Vector {
    /// The direction of these numbers. All zeros give the zero vector, which is similar to nothing.
    pub fn new(numbers: &[f32]) -> Self {
        let largest = numbers.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let step = if largest.is_finite() && largest > 0.0 { 127.0 / largest } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "at most 127 after scaling")]
        let codes = numbers.iter().map(|number| (number * step).round() as i8).collect();
        Self::from_codes(codes)
    }

    fn from_codes(codes: Box<[i8]>) -> Self {
        let square: i32 = codes.iter().map(|&code| i32::from(code) * i32::from(code)).sum();
        #[expect(clippy::cast_precision_loss, reason = "rounding is far below what is kept")]
        let scale = if square == 0 { 0.0 } else { 1.0 / (square as f32).sqrt() };
        Self { codes, scale }
    }

    /// Restores a stored vector.
    pub(crate) fn from_parts(codes: Box<[i8]>, scale: f32) -> Self {
        Self { codes, scale }
    }

    /// The stored numbers.
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// Scale of the numbers.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Cosine similarity: 1 for the same direction, 0 for unrelated.
    pub fn cosine(&self, other: &Self) -> f32 {
        let dot: i32 =
            self.codes.iter().zip(&other.codes).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        #[expect(clippy::cast_precision_loss, reason = "rounding is far below what is kept")]
        let dot = dot as f32;
        dot * self.scale * other.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_dimension_keeps_the_direction() {
        let a: Vec<f32> = (0_u16..256).map(|n| (f32::from(n) * 0.37).sin()).collect();
        let b: Vec<f32> = (0_u16..256).map(|n| (f32::from(n) * 0.37 + 0.5).sin()).collect();
        let exact = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let want = exact(&a, &b) / (exact(&a, &a) * exact(&b, &b)).sqrt();
        let (a, b) = (Vector::new(&a), Vector::new(&b));
        assert!((a.cosine(&b) - want).abs() < 0.01, "{} {want}", a.cosine(&b));
        assert!((a.cosine(&a) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn nothing_is_like_nothing() {
        let zero = Vector::new(&[0.0; 4]);
        assert!(zero.cosine(&zero).abs() < f32::EPSILON);
        assert!(Vector::new(&[f32::NAN, 1.0]).cosine(&zero).abs() < f32::EPSILON);
    }
}
