; A resource is called by its type and name; any other block by what it is, too.
(config_file (body (block . (identifier) @_word
  . (string_lit (template_literal) @name) . (string_lit (template_literal) @name)
  (#eq? @_word "resource")) @block))
(config_file (body (block . (identifier) @name
  . (string_lit (template_literal) @name) . (string_lit (template_literal) @name)) @block))
(config_file (body (block . (identifier) @name . (string_lit (template_literal) @name)) @block))
(config_file (body (block . (identifier) @name) @block))
; Blocks inside blocks, one level down.
(config_file (body (block (body (block . (identifier) @name . (string_lit (template_literal) @name)) @block))))
(config_file (body (block (body (block . (identifier) @name) @block))))
(config_file (body (block . (identifier) @_word (body (attribute . (identifier) @name) @constant))
  (#eq? @_word "locals")))
(config_file (body (attribute . (identifier) @name) @key))
