; Each part of a path is a child of its own; the path is what stands from the first to the last.
(import_declaration . path: (_) @module ("." . path: (_) @module)*) @import
(import_declaration (namespace_selectors [
  (identifier) @name
  (arrow_renamed_identifier name: (_) @name)
  (as_renamed_identifier name: (_) @name)
])) @import
(import_declaration (namespace_wildcard) @name) @import
