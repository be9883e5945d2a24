"""The paper, whole: Habernal (2022), "How reparametrization trick broke differentially-private
text representation learning", ACL 2022. Its grid, figures, footnote and theorems.
"""
