//! Inner products of byte vectors, with the fastest instructions available.

/// Multiplies a query vector with many vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DotProduct {
    /// Baseline instructions of the architecture.
    Portable,
    /// 32 bytes at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl DotProduct {
    /// The fastest variant for this processor.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Portable
    }

    /// The inner products of `question` with each row, in order. `rows` holds one row after the other.
    pub(crate) fn each(self, question: &[i16], rows: &[u8], products: &mut Vec<i32>) {
        products.clear();
        match self {
            Self::Portable => portable(question, rows, products),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                #[expect(unsafe_code, reason = "the compiler can't know the processor")]
                // SAFETY: only `detect` makes this variant outside tests, and it has asked the processor for AVX2.
                unsafe {
                    avx2(question, rows, products);
                }
            }
        }
    }
}

#[expect(clippy::inline_always, reason = "only inside `avx2` is it compiled for that processor")]
#[inline(always)]
fn portable(question: &[i16], rows: &[u8], products: &mut Vec<i32>) {
    products.extend(rows.chunks_exact(question.len()).map(|row| {
        // Wide enough: 1024 dimensions of 127 * 127 are 16 million.
        let products = question
            .iter()
            .zip(row)
            .map(|(&a, &b)| i32::from(a) * i32::from(i16::from(b.cast_signed())));
        products.sum::<i32>()
    }));
}

/// The same lines, compiled for another processor: the loop becomes `vpmovsxbw` and `vpmaddwd`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(question: &[i16], rows: &[u8], products: &mut Vec<i32>) {
    portable(question, rows, products);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_gives_the_same() {
        for dimensions in [1, 7, 32, 100, 256, 1024] {
            let byte = |n: usize| u8::try_from((n * 7919 + 13) % 256).unwrap();
            let question: Vec<i16> =
                (0..dimensions).map(|n| i16::from(byte(n * 3).cast_signed())).collect();
            let rows: Vec<u8> = (0..dimensions * 5).map(byte).collect();
            let want: Vec<i32> = rows
                .chunks(dimensions)
                .map(|row| {
                    let each = row.iter().zip(&question);
                    each.map(|(&b, &a)| i32::from(a) * i32::from(b.cast_signed())).sum()
                })
                .collect();
            let mut got = Vec::new();
            DotProduct::Portable.each(&question, &rows, &mut got);
            assert_eq!(got, want);
            DotProduct::detect().each(&question, &rows, &mut got);
            assert_eq!(got, want);
        }
    }
}
