# Short names for dev.py, which does the work.
.PHONY: demo test check bench fuzz docs site
demo test check bench fuzz docs site:
	python3 dev.py $@
