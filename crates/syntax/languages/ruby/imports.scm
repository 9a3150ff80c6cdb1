(call method: (identifier) @_require arguments: (argument_list . (string (string_content) @module))
  (#any-of? @_require "require" "require_relative" "load")) @import
(call method: (identifier) @_autoload arguments: (argument_list (simple_symbol) @name . (string (string_content) @module))
  (#eq? @_autoload "autoload")) @import
