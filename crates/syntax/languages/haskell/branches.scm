; What each capture means: languages/README.md, branches.scm.
(conditional) @branch @nest @structure
(conditional if: (_) @head)
(multi_way_if) @nest @structure
(multi_way_if (match) . (match) @branch)
(case) @nest @structure
(lambda_case) @nest @structure
(lambda_cases) @nest @structure
; The first alternative adds no path.
(alternatives (alternative) . (alternative) @branch)
(function match: (match (guards)) . match: (match) @branch)
(alternative match: (match (guards)) . match: (match) @branch)
; Each further clause adds one path.
((function name: (_) @_before) . (function name: (_) @_name) @branch
  (#eq? @_before @_name))
(infix operator: (operator) @_operator (#any-of? @_operator "&&" "||")) @branch @logic
(lambda) @deep
(local_binds) @deep
