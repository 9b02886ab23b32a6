# Headlight on the CPU: docker build -t headlight . && docker run --rm -p 127.0.0.1:8501:8501 headlight
FROM python:3.11-slim-bookworm

# HAProxy stands in front of the workers; Chromium saves figures as PNG and SVG.
RUN apt-get update \
    && apt-get install -y --no-install-recommends haproxy chromium fonts-dejavu-core \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.txt
COPY . .
RUN pip install --no-cache-dir --no-deps .

RUN useradd --create-home headlight
USER headlight
WORKDIR /home/headlight

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import os, ssl, urllib.request; urllib.request.urlopen(('https' if 'HEADLIGHT_CERTIFICATE' in os.environ else 'http') + '://127.0.0.1:8501/_stcore/health', timeout=4, context=ssl._create_unverified_context())"]
# One worker per core; docs/serving.md. Inside the container it listens on every address; -p above decides who reaches it.
CMD ["headlight", "serve", "--address", "0.0.0.0"]
