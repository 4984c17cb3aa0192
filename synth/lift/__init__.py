"""What a registry's skills change for a real agent: held-out recordings done with them and without, and compared in pairs."""

from synth.lift.clients import CLIENTS, Client, Spent
from synth.lift.measuring import Lift, LiftError, Pair, Task
from synth.lift.report import plain, to_json

__all__ = ["CLIENTS", "Client", "Lift", "LiftError", "Pair", "Spent", "Task", "plain", "to_json"]
