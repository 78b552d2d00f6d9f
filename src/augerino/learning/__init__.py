"""The front door: `learn`, its settings, its defaults and the two ways of moving bounds."""
