"""The HTTP API's shell: who may call, errors as one envelope, paging, ETag. Systems bring their own routers."""
