(call target: (identifier) @_word (arguments . (alias) @module)
  (#any-of? @_word "alias" "import" "use" "require")) @import
; `alias Shop.{Item, Order}`
(call target: (identifier) @_word (arguments . (dot left: (alias) @module))
  (#any-of? @_word "alias" "import" "use" "require")) @import
(call target: (identifier) @_word (arguments . (dot right: (tuple (alias) @name)))
  (#any-of? @_word "alias" "import" "use" "require")) @import
; `import Ecto.Query, only: [from: 2]`
(call target: (identifier) @_word
  (arguments (keywords (pair key: (keyword) @_only value: (list (keywords (pair key: (keyword) @name))))))
  (#eq? @_word "import") (#match? @_only "^only:")) @import
