//! One module a format: text or bytes in, a document out.

pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod plain;
