"""The sandbox client."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import uuid
from pathlib import Path

from agents.sandbox import Manifest, SnapshotSpec, resolve_snapshot
from agents.sandbox.session import (
    BaseSandboxClient,
    Dependencies,
    Instrumentation,
    SandboxSession,
    SandboxSessionState,
)
from agents.sandbox.snapshot import SnapshotBase

from ._place import Place
from ._settle import settled
from ._terminals import logger
from ._yard import Yard
from .options import PtyardSandboxClientOptions, PtyardSandboxSessionState
from .session import PtyardSandboxSession

_DEFAULT_ROOT = str(Manifest.model_fields["root"].default)
_WORKSPACE_PREFIX = "ptyard-agents-"


class PtyardSandboxClient(BaseSandboxClient["PtyardSandboxClientOptions | None"]):
    """Creates and resumes sandbox sessions whose commands run in ptyard.

    The server is found as the command line finds it, and started when none runs.

    Args:
        state_dir: State directory of the server; default ``$PTYARD_STATE``, else as the command line.
        program: The ``ptyard`` program; default ``$PTYARD_BIN``, else the one on ``PATH``.
        instrumentation: Where the SDK reports what sessions do.
        dependencies: What the SDK hands to sessions.
    """

    backend_id = "ptyard"
    supports_default_options = True

    def __init__(
        self,
        *,
        state_dir: str | Path | None = None,
        program: str | Path | None = None,
        instrumentation: Instrumentation | None = None,
        dependencies: Dependencies | None = None,
    ) -> None:
        self._place = Place.of(state_dir, program)
        self._instrumentation = instrumentation if instrumentation is not None else Instrumentation()
        self._dependencies = dependencies

    async def create(
        self,
        *,
        snapshot: SnapshotSpec | SnapshotBase | None = None,
        manifest: Manifest | None = None,
        options: PtyardSandboxClientOptions | None = None,
    ) -> SandboxSession:
        """Makes a session; nothing runs before it is started.

        On the local backend a manifest without a root of its own gets a new directory, which ``delete`` removes.
        """
        options = options if options is not None else PtyardSandboxClientOptions()
        manifest = manifest if manifest is not None else Manifest()
        _refuse_host_paths(manifest)
        self._validate_manifest_for_create(manifest)
        owned = options.backend == "local" and manifest.root == _DEFAULT_ROOT
        if owned:
            # The programs see the path too, so it is the real one.
            root = Path(tempfile.mkdtemp(prefix=_WORKSPACE_PREFIX)).resolve()
            manifest = manifest.model_copy(update={"root": str(root)}, deep=True)
        session_id = uuid.uuid4()
        state = PtyardSandboxSessionState(
            session_id=session_id,
            snapshot=resolve_snapshot(snapshot, str(session_id)),
            manifest=manifest,
            exposed_ports=options.exposed_ports,
            backend=options.backend,
            size=options.size,
            until=options.until,
            on_close=options.on_close,
            workspace_root_owned=owned,
        )
        return self._session(state)

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        """Takes a session up again: its files, and its terminals that still run, under the same ids."""
        if not isinstance(state, PtyardSandboxSessionState):
            raise TypeError(f"a {type(state).__name__} is not a state of this client")
        state.assert_path_grants_rebound()
        _refuse_host_paths(state.manifest)
        return self._session(state)

    def _session(self, state: PtyardSandboxSessionState) -> SandboxSession:
        inner = PtyardSandboxSession(state, Yard(self._place))
        return self._wrap_session(inner, instrumentation=self._instrumentation)

    async def delete(self, session: SandboxSession) -> SandboxSession:
        """Ends everything the session runs, removes its logs, and its directory if it was made for it."""
        inner = session._inner
        if not isinstance(inner, PtyardSandboxSession):
            raise TypeError(f"a {type(inner).__name__} is not a session of this client")
        await inner.discard()
        if inner.state.workspace_root_owned and await _unmounted(inner):
            root = inner.state.manifest.root
            await settled(asyncio.to_thread(shutil.rmtree, root, ignore_errors=True))
        return session

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, PtyardSandboxSessionState)


async def _unmounted(session: PtyardSandboxSession) -> bool:
    """Whether nothing is mounted in the workspace any more, so that removing it removes only what is its own."""
    done = True
    for mount, path in session.state.manifest.ephemeral_mount_targets():
        try:
            await mount.unmount(session, path, Path("/"))
        except Exception:
            logger.warning("%s could not be unmounted: the workspace is kept", path, exc_info=True)
            done = False
    return done


def _refuse_host_paths(manifest: Manifest) -> None:
    for grant in manifest.extra_path_grants:
        if grant.host_path is not None:
            raise ValueError(f"the grant of {grant.path!r} has a host_path, which ptyard cannot map")
