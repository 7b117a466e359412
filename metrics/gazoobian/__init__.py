"""Gazoobian objects: novel alien shapes from a seeded grammar, rendered by signed distance fields in NumPy alone.

grammar.py (family and individual genes) -> anatomy.py (genes to parts) -> sdf.py (distance to the parts) ->
render.py (camera, light, pixels); views.py (nuisance dials), screening.py, dataset.py (the folder on disk),
objects.py (reading such a folder, a user's own too), contact_sheet.py.
"""
