# The server of `translate serve` with the shipped models; docs/serve.md says how to run it.

FROM python:3.11-slim AS build
WORKDIR /src
RUN python -m venv /opt/translate
ENV PATH=/opt/translate/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# PyTorch's build for CPUs, before everything else: pip's default on Linux includes gigabytes of CUDA libraries.
COPY constraints.txt ./
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --constraint constraints.txt --no-deps --index-url "$TORCH_INDEX" torch

COPY pyproject.toml README.md LICENSE ./
COPY transformer transformer
COPY translate translate
RUN pip install --constraint constraints.txt '.[serve]'

FROM python:3.11-slim
# Keys and converted models are kept in /data; nothing else is written, but temporary files in /tmp.
RUN useradd --uid 10001 --create-home --home-dir /data translate
COPY --from=build /opt/translate /opt/translate
ENV PATH=/opt/translate/bin:$PATH TRANSLATE_HOME=/data XDG_CACHE_HOME=/data/cache PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
USER translate
VOLUME /data
EXPOSE 5000
HEALTHCHECK --interval=10s --start-period=30s CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:5000/health')"]
ENTRYPOINT ["translate"]
CMD ["serve", "--host", "0.0.0.0"]
