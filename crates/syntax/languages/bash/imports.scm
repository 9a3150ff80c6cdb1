(command name: (command_name) @_name . argument: (word) @module
  (#any-of? @_name "source" ".")) @import
(command name: (command_name) @_name . argument: (concatenation) @module
  (#any-of? @_name "source" ".")) @import
; The literal part of `"$here/lib.sh"`.
(command name: (command_name) @_name . argument: (string (string_content) @module .)
  (#any-of? @_name "source" ".")) @import
