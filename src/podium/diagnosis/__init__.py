"""The doctor: what is wrong with data, found before anything is learned from it, and what to do about it."""

from podium.diagnosis.diagnosis_result import Diagnosis
from podium.diagnosis.doctor import doctor
from podium.diagnosis.estimates import Estimate, fit_seconds
from podium.diagnosis.finding import Finding
from podium.diagnosis.overview import Overview

__all__ = ["Diagnosis", "Estimate", "Finding", "Overview", "doctor", "fit_seconds"]
