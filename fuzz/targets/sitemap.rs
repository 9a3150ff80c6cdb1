//! Sitemaps: compressed or not, they give the same pages, within the limit.
#![no_main]

mod gz;

use docent_net::Sitemap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let plain = read(bytes);
    // Bytes that start like a compressed file are decompressed only once.
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        assert_eq!(read(&gz::gz(bytes)), plain);
    }
});

fn read(bytes: &[u8]) -> Option<Sitemap> {
    match Sitemap::parse(bytes) {
        Ok(sitemap) => {
            let (listed, most) = match &sitemap {
                Sitemap::Pages(pages) => (pages.len(), 50_000),
                Sitemap::Index(urls) => (urls.len(), 200),
            };
            assert!(listed <= most);
            Some(sitemap)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}
