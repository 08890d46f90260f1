# Short names for dev.py, which does the work.
.PHONY: demo test check bench fuzz docs
demo test check bench fuzz docs:
	python3 dev.py $@
