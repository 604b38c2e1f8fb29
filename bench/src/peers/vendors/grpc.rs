//! A program by calls: output as a stream of answers, input with offsets.

use ptyard_modal_wire::Call;
use ptyard_modal_wire::control::{SandboxGetTaskIdRequest, TaskGetCommandRouterAccessRequest};
use ptyard_modal_wire::router::{
    FileDescriptor, PtyInfo, PtyType, StderrConfig, StdoutConfig, TaskExecStartRequest,
    TaskExecStdinWriteRequest, TaskExecStdioReadRequest, TaskExecStdioReadResponse,
};
use ptyard_testkit::vendors::modal::{ModalServer, TOKEN};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

use crate::Outcome;

pub(crate) struct Calls {
    machine: Grpc<Channel>,
    metadata: MetadataMap,
    task: String,
    exec: String,
    typed: u64,
    answers: Streaming<TaskExecStdioReadResponse>,
}

async fn ask<C: Call>(to: &mut Grpc<Channel>, metadata: &MetadataMap, call: C) -> Outcome<C::Answer> {
    to.ready().await?;
    let request = Request::from_parts(metadata.clone(), Default::default(), call);
    let codec = ProstCodec::<C, C::Answer>::default();
    Ok(to.unary(request, PathAndQuery::from_static(C::PATH), codec).await?.into_inner())
}

impl Calls {
    pub(crate) async fn run(server: &ModalServer, sandbox: &str, script: &str) -> Outcome<Self> {
        let mut vendor = Grpc::new(Endpoint::from_shared(server.url())?.connect().await?);
        let mut metadata = MetadataMap::new();
        metadata.insert("x-modal-client-version", "1.6.4".parse()?);
        metadata.insert("x-modal-client-type", "1".parse()?);
        metadata.insert("x-modal-token-id", TOKEN.0.parse()?);
        metadata.insert("x-modal-token-secret", TOKEN.1.parse()?);
        metadata.insert("x-idempotency-key", ptyard_testkit::vendors::play::any_id().to_string().parse()?);
        let request = SandboxGetTaskIdRequest { sandbox_id: sandbox.to_owned(), timeout: Some(10.0) };
        let task = ask(&mut vendor, &metadata, request).await?.task_id.ok_or("no task")?;
        let request = TaskGetCommandRouterAccessRequest { task_id: task.clone() };
        let access = ask(&mut vendor, &metadata, request).await?;

        let authority = Certificate::from_pem(std::fs::read(server.authority())?);
        let tls = ClientTlsConfig::new().ca_certificate(authority);
        let mut machine = Grpc::new(Endpoint::from_shared(access.url)?.tls_config(tls)?.connect().await?);
        let mut metadata = MetadataMap::new();
        metadata.insert("authorization", format!("Bearer {}", access.jwt).parse()?);
        let exec = ptyard_testkit::vendors::play::any_id().to_string();
        let pty = PtyInfo {
            enabled: true,
            winsz_rows: 24,
            winsz_cols: 80,
            pty_type: PtyType::Shell.into(),
            no_terminate_on_idle_stdin: true,
            ..PtyInfo::default()
        };
        let start = TaskExecStartRequest {
            task_id: task.clone(),
            exec_id: exec.clone(),
            command_args: vec!["sh".to_owned(), script.to_owned()],
            stdout_config: StdoutConfig::Pipe.into(),
            stderr_config: StderrConfig::Stdout.into(),
            pty_info: Some(pty),
            ..TaskExecStartRequest::default()
        };
        ask(&mut machine, &metadata, start).await?;
        let read = TaskExecStdioReadRequest {
            task_id: task.clone(),
            exec_id: exec.clone(),
            offset: 0,
            file_descriptor: FileDescriptor::Stdout.into(),
        };
        machine.ready().await?;
        let path = PathAndQuery::from_static(TaskExecStdioReadRequest::PATH);
        let request = Request::from_parts(metadata.clone(), Default::default(), read);
        let answers =
            machine.server_streaming(request, path, ProstCodec::<_, _>::default()).await?.into_inner();
        Ok(Self { machine, metadata, task, exec, typed: 0, answers })
    }

    pub(crate) async fn hear(&mut self) -> Outcome<Vec<u8>> {
        Ok(self.answers.message().await?.ok_or("the output has ended")?.data)
    }

    pub(crate) async fn say(&mut self, bytes: &[u8]) -> Outcome<()> {
        let write = TaskExecStdinWriteRequest {
            task_id: self.task.clone(),
            exec_id: self.exec.clone(),
            offset: self.typed,
            data: bytes.to_vec(),
            eof: false,
        };
        ask(&mut self.machine, &self.metadata, write).await?;
        self.typed += bytes.len() as u64;
        Ok(())
    }
}
