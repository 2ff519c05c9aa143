"""Many models at once: jobs, the processes and clusters that do them, results that can be resumed, and reports."""
