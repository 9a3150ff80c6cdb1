; Each part of a path is a separate child; the path extends from the first to the last.
(import_declaration . path: (_) @module ("." . path: (_) @module)*) @import
(import_declaration (namespace_selectors [
  (identifier) @name
  (arrow_renamed_identifier name: (_) @name)
  (as_renamed_identifier name: (_) @name)
])) @import
(import_declaration (namespace_wildcard) @name) @import
