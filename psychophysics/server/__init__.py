"""The study server: assigns places, holds the correct answers, stores what participants do."""
