"""The paper, whole: its grid, figures, footnote and theorems.

Ivan Habernal, "How reparametrization trick broke differentially-private text representation learning",
ACL 2022 (short papers).
"""
