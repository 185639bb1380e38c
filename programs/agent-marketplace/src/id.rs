//! The address of the program.

use anchor_lang::prelude::*;

declare_id!("9d5194GTeZmmrAj3gXzNGxh86PNTCPK4cmDfTKhFViGK");
