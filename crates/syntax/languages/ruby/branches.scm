; What each capture means: languages/README.md, branches.scm.
(if) @branch @nest @structure
(if condition: (_) @head)
(unless) @branch @nest @structure
(unless condition: (_) @head)
(elsif) @branch @flat
(elsif condition: (_) @head)
(if alternative: (else) @flat)
(elsif alternative: (else) @flat)
(unless alternative: (else) @flat)
(if_modifier) @branch @nest @structure
(if_modifier condition: (_) @head)
(unless_modifier) @branch @nest @structure
(unless_modifier condition: (_) @head)
(while) @branch @nest @structure
(while condition: (_) @head)
(until) @branch @nest @structure
(until condition: (_) @head)
(while_modifier) @branch @nest @structure
(while_modifier condition: (_) @head)
(until_modifier) @branch @nest @structure
(until_modifier condition: (_) @head)
(for) @branch @nest @structure
(for value: (_) @head)
(case) @nest @structure
(case value: (_) @head)
(case_match) @nest @structure
(case_match value: (_) @head)
(when) @branch
(in_clause) @branch
(rescue) @branch @nest @structure
(rescue_modifier) @branch @structure
(conditional) @branch @structure
(conditional condition: (_) @head)
(binary operator: ["&&" "||" "and" "or"]) @branch @logic
(operator_assignment operator: ["||=" "&&="]) @branch
(do_block) @deep
(block) @deep
(lambda) @deep
