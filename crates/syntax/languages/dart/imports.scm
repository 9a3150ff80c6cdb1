(import_specification uri: (configurable_uri (uri (string_literal (_ [(template_chars_single_single) (template_chars_double_single)] @module))))) @import
(library_export uri: (configurable_uri (uri (string_literal (_ [(template_chars_single_single) (template_chars_double_single)] @module))))) @import
(part_directive uri: (uri (string_literal (_ [(template_chars_single_single) (template_chars_double_single)] @module)))) @declared
(import_specification (combinator "show" (identifier) @name)) @import
