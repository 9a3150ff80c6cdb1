; What each capture means: languages/README.md, branches.scm.
(case) @nest @structure
(case (keyword_when) @branch)
(case (keyword_else) @flat)
(binary_expression [(keyword_and) (keyword_or)]) @branch @logic
(subquery) @nest @deep
(cte) @nest @deep
