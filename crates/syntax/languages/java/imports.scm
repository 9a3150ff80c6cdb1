(import_declaration (scoped_identifier) @module) @import
(import_declaration (identifier) @module) @import
(import_declaration (asterisk) @name) @import
