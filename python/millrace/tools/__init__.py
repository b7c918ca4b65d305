# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What measures, predicts, evaluates and demonstrates. No program needs it to be accelerated."""
