"""Published systems, one a file: the paper, its idea, what it costs, and when it is of no use stand at the top of each.

They are made of what the core has for everybody. The core imports none of them: `grammarlm/decoding/systems.py` has their names.

    samplers/     infilling: functions from a Look to a Choice (decoding/diffusion/look.py), and drivers, which say what is read
"""
