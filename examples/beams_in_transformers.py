"""transformers' own generate(), held to a schema: a batch of prompts of different lengths, three beams each."""

from transformers import AutoModelForCausalLM, AutoTokenizer

import grammarlm as gl
from grammarlm.models.tiny import FOLDER  # any other folder or name does as well

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "seats": {"type": "integer", "minimum": 1}},
    "required": ["city", "seats"],
    "additionalProperties": False,
}

model = AutoModelForCausalLM.from_pretrained(FOLDER).float().eval()
tokenizer = AutoTokenizer.from_pretrained(FOLDER, padding_side="left")
vocab = gl.Vocabulary.from_tokenizer(tokenizer, size=model.config.vocab_size, stop_ids=[model.config.eos_token_id])
schema = gl.compile(gl.JsonSchema(SCHEMA), vocab)
processor = gl.LogitsProcessor(schema, max_tokens=40)  # no record is cut

prompts = tokenizer(["Five seats in Oslo.\n", "A table in Porto, for nine of us.\n"], return_tensors="pt", padding=True)
options = {"num_beams": 3, "max_new_tokens": 40, "pad_token_id": tokenizer.pad_token_id}
for ids in model.generate(**prompts, **options, logits_processor=[processor]):
    print(tokenizer.decode(ids[prompts["input_ids"].shape[1] :], skip_special_tokens=True))
