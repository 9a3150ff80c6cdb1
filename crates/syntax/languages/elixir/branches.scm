; What each capture means: languages/README.md, branches.scm.
(call target: (identifier) @_word (do_block)
  (#any-of? @_word "if" "unless" "for")) @branch @nest @structure
(call target: (identifier) @_word (arguments (keywords)) .
  (#any-of? @_word "if" "unless" "for")) @branch @nest @structure
(call target: (identifier) @_word (do_block)
  (#any-of? @_word "case" "cond" "receive" "with")) @nest @structure
; The first clause of a case adds no path.
(call target: (identifier) @_word (do_block (stab_clause) . (stab_clause) @branch)
  (#any-of? @_word "case" "cond" "receive"))
(else_block (stab_clause) @branch)
(call target: (identifier) @_word (do_block (else_block) @flat)
  (#any-of? @_word "if" "unless"))
(rescue_block) @nest @structure
(rescue_block (stab_clause) @branch)
(catch_block) @nest @structure
(catch_block (stab_clause) @branch)
(binary_operator operator: ["&&" "||" "and" "or"]) @branch @logic
(anonymous_function) @deep
(anonymous_function (stab_clause) . (stab_clause) @branch)
