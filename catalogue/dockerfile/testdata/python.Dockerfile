# escape=`
FROM python:3.14-slim AS base
ENV APP=worker `
    VENV=/venv

FROM base AS build
COPY requirements.txt pyproject.toml $APP/
RUN python -m venv $VENV && $VENV/bin/pip install -r $APP/requirements.txt

FROM base
COPY --from=1 $VENV $VENV
COPY $APP/*.py jobs/[a-m]*.py /srv/
COPY --chown=1000:1000 $APP/data$DATA_SUFFIX /srv/data
ADD vendor.tar.gz /srv/vendor
CMD ["python", "/srv/main.py"]
