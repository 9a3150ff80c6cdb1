(builtin_function (builtin_identifier) @_import (arguments (string (string_content) @module))
  (#any-of? @_import "@import" "@embedFile")) @import
(builtin_function (builtin_identifier) @_import (arguments (string (string_content) @module))
  (#eq? @_import "@cInclude")) @import
