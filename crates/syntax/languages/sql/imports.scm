; Settings of the database itself, or of its extensions.
(create_extension (identifier) @module) @import
(create_extension (literal) @module) @import
