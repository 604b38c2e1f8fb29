//! The vendor's own service, `modal.client.ModalClient`.

use std::sync::Arc;

use ptyard_modal_wire::Call;
use ptyard_modal_wire::control::{
    AppGetOrCreateRequest, AppGetOrCreateResponse, ClientHelloRequest, ClientHelloResponse,
    EnvironmentGetOrCreateRequest, EnvironmentGetOrCreateResponse, EnvironmentMetadata, EnvironmentSettings,
    GenericResult, GenericStatus, ImageGetOrCreateRequest, ImageGetOrCreateResponse,
    ImageJoinStreamingRequest, ImageJoinStreamingResponse, SandboxCreateRequest, SandboxCreateResponse,
    SandboxGetFromNameRequest, SandboxGetFromNameResponse, SandboxGetTaskIdRequest, SandboxGetTaskIdResponse,
    SandboxTerminateRequest, SandboxTerminateResponse, SandboxWaitRequest, SandboxWaitResponse,
    TaskGetCommandRouterAccessRequest, TaskGetCommandRouterAccessResponse,
};
use tonic::{Code, Status};

use super::serve::{Answered, Answers, Asked, Service, streaming, unary};
use super::{TOKEN, Vendor, locked};

/// Of images that are built here.
const BUILDER: &str = "2025.06";

/// The service.
#[derive(Debug, Clone)]
pub(super) struct Control(pub(super) Arc<Vendor>);

fn result(status: GenericStatus) -> GenericResult {
    GenericResult { status: status.into(), ..GenericResult::default() }
}

impl Control {
    /// An image, at once or after some questions.
    fn image(&self, request: &ImageGetOrCreateRequest) -> Result<ImageGetOrCreateResponse, Status> {
        let commands = request.image.as_ref().map(|image| image.dockerfile_commands.join("\n"));
        if request.builder_version != BUILDER {
            return Err(Status::invalid_argument("an image needs the environment's builder version"));
        }
        let image_id = "im-0123456789abcdefABCDEF".to_owned();
        let mut answer = ImageGetOrCreateResponse { image_id, result: Some(result(GenericStatus::Success)) };
        if commands.is_some_and(|commands| commands.contains("no-such-image")) {
            let failed = GenericResult {
                exception: "it cannot be pulled".to_owned(),
                ..result(GenericStatus::Failure)
            };
            answer.result = Some(failed);
        } else if locked(&self.0.faults).questions_before_image > 0 {
            answer.result = None;
        }
        Ok(answer)
    }

    fn joined(&self) -> Answers<ImageJoinStreamingRequest> {
        let mut faults = locked(&self.0.faults);
        let built = faults.questions_before_image <= 1;
        faults.questions_before_image = faults.questions_before_image.saturating_sub(1);
        let news = ImageJoinStreamingResponse {
            result: built.then(|| result(GenericStatus::Success)),
            entry_id: "1-0".to_owned(),
            eof: built,
        };
        Box::pin(futures_util::stream::once(async { Ok(news) }))
    }

    fn task(&self, sandbox: &str) -> Result<SandboxGetTaskIdResponse, Status> {
        if self.0.has_ended(sandbox)? {
            let task_result = Some(result(GenericStatus::Terminated));
            return Ok(SandboxGetTaskIdResponse { task_id: None, task_result });
        }
        let mut faults = locked(&self.0.faults);
        let is_there = faults.questions_before_task == 0;
        faults.questions_before_task = faults.questions_before_task.saturating_sub(1);
        let task_id = is_there.then(|| Vendor::task_of(sandbox));
        Ok(SandboxGetTaskIdResponse { task_id, task_result: None })
    }
}

impl Service for Control {
    fn vendor(&self) -> &Arc<Vendor> {
        &self.0
    }

    async fn answer(self, path: String, asked: Asked) -> Answered {
        let header = |name: &str| Some(asked.headers().get(name)?.to_str().ok()?.to_owned());
        if (header("x-modal-token-id"), header("x-modal-token-secret"))
            != (Some(TOKEN.0.to_owned()), Some(TOKEN.1.to_owned()))
        {
            return Status::unauthenticated("Token ID or secret is wrong").into_http();
        }
        let (Some(key), Some(_version)) = (header("x-idempotency-key"), header("x-modal-client-version"))
        else {
            return Status::invalid_argument("a call needs a key and a version").into_http();
        };
        match path.as_str() {
            ClientHelloRequest::PATH => {
                unary(asked, |_: ClientHelloRequest| async {
                    Ok(ClientHelloResponse { image_builder_version: BUILDER.to_owned() })
                })
                .await
            }
            AppGetOrCreateRequest::PATH => {
                unary(asked, |_: AppGetOrCreateRequest| async {
                    Ok(AppGetOrCreateResponse { app_id: "ap-1".to_owned() })
                })
                .await
            }
            EnvironmentGetOrCreateRequest::PATH => {
                unary(asked, |_: EnvironmentGetOrCreateRequest| async {
                    let settings = EnvironmentSettings { image_builder_version: BUILDER.to_owned() };
                    let metadata = EnvironmentMetadata { name: "main".to_owned(), settings: Some(settings) };
                    Ok(EnvironmentGetOrCreateResponse {
                        environment_id: "en-1".to_owned(),
                        metadata: Some(metadata),
                    })
                })
                .await
            }
            ImageGetOrCreateRequest::PATH => {
                unary(asked, |request: ImageGetOrCreateRequest| std::future::ready(self.image(&request)))
                    .await
            }
            ImageJoinStreamingRequest::PATH => {
                streaming(asked, |_: ImageJoinStreamingRequest| std::future::ready(Ok(self.joined()))).await
            }
            SandboxCreateRequest::PATH => {
                unary(asked, |request: SandboxCreateRequest| {
                    let made = self.0.make(&key, &request.definition.unwrap_or_default());
                    std::future::ready(made.map(|sandbox_id| SandboxCreateResponse { sandbox_id }))
                })
                .await
            }
            SandboxGetFromNameRequest::PATH => {
                unary(asked, |request: SandboxGetFromNameRequest| {
                    let found = self.0.by_name(&request.sandbox_name);
                    let found = found.ok_or_else(|| Status::not_found("no sandbox has this name"));
                    std::future::ready(found.map(|sandbox_id| SandboxGetFromNameResponse { sandbox_id }))
                })
                .await
            }
            SandboxGetTaskIdRequest::PATH => {
                unary(asked, |request: SandboxGetTaskIdRequest| {
                    std::future::ready(self.task(&request.sandbox_id))
                })
                .await
            }
            SandboxWaitRequest::PATH => {
                unary(asked, |request: SandboxWaitRequest| {
                    let ended = self.0.has_ended(&request.sandbox_id);
                    let answer = ended.map(|ended| SandboxWaitResponse {
                        result: Some(if ended {
                            result(GenericStatus::Terminated)
                        } else {
                            GenericResult::default()
                        }),
                    });
                    std::future::ready(answer)
                })
                .await
            }
            SandboxTerminateRequest::PATH => {
                unary(asked, |request: SandboxTerminateRequest| {
                    let ended = self.0.terminate(&request.sandbox_id);
                    std::future::ready(ended.map(|()| SandboxTerminateResponse { existing_result: None }))
                })
                .await
            }
            TaskGetCommandRouterAccessRequest::PATH => {
                unary(asked, |request: TaskGetCommandRouterAccessRequest| {
                    let access = match self.0.machine(&request.task_id) {
                        Some(_) => Ok(TaskGetCommandRouterAccessResponse {
                            jwt: self.0.issue_token(),
                            url: self.0.router.clone(),
                        }),
                        None => Err(Status::not_found("no such task")),
                    };
                    std::future::ready(access)
                })
                .await
            }
            other => Status::new(Code::Unimplemented, other).into_http(),
        }
    }
}
