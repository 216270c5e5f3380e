"""`intact …`"""
