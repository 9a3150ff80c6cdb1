(import . [(qualified_identifier) (identifier)] @module) @import
(import "*" @name) @import
